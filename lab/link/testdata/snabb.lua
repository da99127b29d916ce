-- Stands for Snabb 2024.08 as far as nines' script changes it, so that the script runs without it:
--
--   luajit snabb.lua SCRIPT
--
-- Its VhostUser app has the behaviour of the real one that carries no packet of DPDK's virtio-user, and
-- that keeps the memory of a guest that has ended. engine.main() has a guest come, send a packet, end and
-- come again, on each vhost-user port, and fails where the real program would, or what is left differs.

local mapped, open = 0, 0 -- regions of guests' memory, and file descriptors

package.loaded["ffi"] = {C = {
   vhost_user_unmap_guest_memory = function (pointer, size)
      assert(pointer == "memory" and size == 2 * 1024 * 1024, "unmapped what was not mapped")
      mapped = mapped - 1
   end,
   close = function (fd)
      assert(fd, "closed nothing")
      open = open - 1
   end,
}}

-- The device: lib/virtio/net_device.lua.
local Device = {}
Device.__index = Device

-- SET_FEATURES of a guest, or of the script: DPDK's virtio-user sends none to a device without
-- VIRTIO_F_VERSION_1, which this one is.
function Device:set_features (features)
   self.features = features
end

-- A ring is there with its addresses, which set_vring_addr has stored.
function Device:ready ()
   return self.virtq[0].virtq and self.virtq[1].virtq
end

function Device:poll ()
   if type(self.features) ~= "number" then -- bit.band in tx_packet_start
      error("bad argument #1 to 'band' (number expected, got nil)")
   end
   assert(self.virtq[0].virtq and self.virtq[1].virtq, "a ring is polled that is not there")
   assert(self.owner.mem_table[0], "memory is used that is not there")
end

-- The app: apps/vhost/vhost_user.lua.
local VhostUser = {}
VhostUser.__index = VhostUser
package.loaded["apps.vhost.vhost_user"] = {VhostUser = VhostUser}

function VhostUser:new (args)
   assert(args.is_server == false and args.disable_mrg_rxbuf and args.disable_indirect_desc,
      "the guest takes features that it does not tell")
   local app = setmetatable({mem_table = {}, socket_path = args.socket_path}, {__index = VhostUser})
   app.process_qemu_timer = {ticks = 500} -- of a millisecond each
   app.dev = setmetatable({owner = app, virtq = {[0] = {}, {}}}, Device)
   return app
end

function VhostUser:stop ()
   self.connected, self.vhost_ready = false, false
   self:free_mem_table()
end

function VhostUser:set_vring_kick (index)
   self.vhost_ready = true -- with the first of two rings
   self.dev.virtq[index].kickfd = "kick"
   open = open + 1
end

function VhostUser:set_vring_enable (msg)
   self.vhost_ready = msg.state.num ~= 0
end

function VhostUser:update_features ()
   error("a file in the host's /tmp")
end

function VhostUser:set_mem_table ()
   self:free_mem_table()
   self.mem_table[0] = {mmap_pointer = "memory", mmap_size = 2 * 1024 * 1024}
   mapped = mapped + 1
end

-- The length of a table whose only region has the index 0 is 0, so that nothing is unmapped.
function VhostUser:free_mem_table ()
   if table.getn(self.mem_table) == 0 then
      return
   end
   for i = 0, table.getn(self.mem_table) do
      package.loaded["ffi"].C.vhost_user_unmap_guest_memory(self.mem_table[i].mmap_pointer, self.mem_table[i].mmap_size)
   end
   self.mem_table = {}
end

-- What virtio-user of DPDK asks for, and then a packet.
local function guest (app)
   app.connected = true
   app:set_mem_table()
   for index = 0, 1 do
      if app.vhost_ready then
         app.dev:poll() -- the app polls whenever it is ready, also between two requests
      end
      app.dev.virtq[index].virtq = "ring"
      app.dev.virtq[index].callfd = "call"
      open = open + 1
      app:set_vring_kick(index)
   end
   app:set_vring_enable({state = {index = 0, num = 1}})
   app.dev:poll()
   app:stop() -- the connection went down
end

local apps, links, memory = {}, {}, {reserve_new_page = function () end}
local raise = memory.reserve_new_page
package.loaded["core.memory"] = memory
package.loaded["lib.numa"] = {bind_to_cpu = function () end}
package.loaded["apps.socket.raw"] = {RawSocket = {ports = {tx = true, rx = true}}}
package.loaded["apps.bridge.learning"] = {bridge = {}}
VhostUser.ports = {tx = true, rx = true}

config = {
   new = function () return {} end,
   app = function (_, name, class, args) apps[name] = {class = class, args = args} end,
   link = function (_, text)
      for name, port in text:gmatch("(%w+)%.(%w+)") do
         local ports = assert(apps[name], "a link of no app: " .. text).class.ports
         assert(not ports or ports[port], "the app has no such link: " .. text)
      end
      links[#links + 1] = text
   end,
}

engine = {configure = function () end, main = function ()
   assert(memory.reserve_new_page ~= raise, "it would raise vm.nr_hugepages")
   for name, app in pairs(apps) do
      if app.class == VhostUser then
         local vhost = VhostUser:new(app.args)
         assert(vhost.process_qemu_timer.ticks <= 10, "a guest waits half a second for each answer")
         for _ = 1, 3 do
            guest(vhost)
            assert(mapped == 0, name .. " keeps the memory of a guest that has ended")
            assert(open == 0, name .. " keeps file descriptors of a guest that has ended")
            assert(not vhost.dev:ready(), name .. " keeps the rings of a guest that has ended")
         end
         vhost:update_features(0)
      end
   end
end}

dofile(arg[1])
