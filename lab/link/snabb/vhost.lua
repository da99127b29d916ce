-- What Snabb, and its VhostUser app, lack for an engine with DPDK as the guest, which may end and
-- start anew while Snabb runs on. It changes the app as Snabb 2022.07 to 2024.08 have it, in
-- apps/vhost/vhost_user.lua and lib/virtio/net_device.lua.

local ffi = require("ffi")
local VhostUser = require("apps.vhost.vhost_user").VhostUser

-- The log is a file, and what is not written when the program is killed is lost.
io.stdout:setvbuf("line")

-- Snabb would raise vm.nr_hugepages itself, and nothing would lower it again.
require("core.memory").reserve_new_page = function ()
   error("no hugepage is free: reserve more, or use dpdk.hugepages: reserve", 0)
end

local new, stop, kick = VhostUser.new, VhostUser.stop, VhostUser.set_vring_kick

function VhostUser:new (args)
   local app = new(self, args)
   -- DPDK's virtio-user does not send SET_FEATURES to a device without VIRTIO_F_VERSION_1. Without
   -- features the app ends at the first packet.
   app.dev:set_features(0)
   -- Look for requests each 10 ms, not each 500: a guest waits for the answers, and the memory of
   -- one that has ended stays mapped until then.
   app.process_qemu_timer.ticks = 10
   return app
end

-- Snabb's own keeps a table with a single region, and with it the hugepages of a guest that has
-- ended.
function VhostUser:free_mem_table ()
   for _, region in pairs(self.mem_table) do
      ffi.C.vhost_user_unmap_guest_memory(region.mmap_pointer, region.mmap_size)
   end
   self.mem_table = {}
end

local function close (queue, name)
   if queue[name] then
      ffi.C.close(queue[name])
      queue[name] = nil
   end
end

-- Forget the rings, which were in the guest's memory.
function VhostUser:stop ()
   stop(self)
   for _, queue in pairs(self.dev.virtq) do
      queue.virtq = nil
      close(queue, "callfd")
      close(queue, "kickfd")
   end
end

-- The app polls both rings, so it has to have both.
function VhostUser:set_vring_kick (...)
   kick(self, ...)
   self.vhost_ready = self.dev:ready() ~= nil
end

function VhostUser:set_vring_enable (msg)
   self.vhost_ready = msg.state.num ~= 0 and self.dev:ready() ~= nil
end

-- Snabb's own writes a file to the host's /tmp, and would take the features of an earlier guest
-- from there.
function VhostUser:update_features (features)
   return features
end
