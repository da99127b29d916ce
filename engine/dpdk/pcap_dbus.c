/* What the static libpcap calls of libdbus, for its captures of the D-Bus message bus
 * (pcap-dbus.c). A static libdbus wants libsystemd, of which Debian has no archive, and
 * net_pcap is opened on network interfaces and files: here every call fails, so that
 * such a capture is refused ("Failed to get session bus"). Only the static engine is
 * linked with it. */
#define DBUS_IS_NOT_THERE(function) \
	long function(void);        \
	long function(void)         \
	{                           \
		return 0;           \
	}

DBUS_IS_NOT_THERE(dbus_bus_add_match)
DBUS_IS_NOT_THERE(dbus_bus_get)
DBUS_IS_NOT_THERE(dbus_bus_register)
DBUS_IS_NOT_THERE(dbus_connection_flush)
DBUS_IS_NOT_THERE(dbus_connection_open)
DBUS_IS_NOT_THERE(dbus_connection_pop_message)
DBUS_IS_NOT_THERE(dbus_connection_read_write)
DBUS_IS_NOT_THERE(dbus_connection_send)
DBUS_IS_NOT_THERE(dbus_connection_set_max_received_size)
DBUS_IS_NOT_THERE(dbus_connection_unref)
DBUS_IS_NOT_THERE(dbus_error_free)
DBUS_IS_NOT_THERE(dbus_error_is_set)
DBUS_IS_NOT_THERE(dbus_free)
DBUS_IS_NOT_THERE(dbus_message_demarshal)
DBUS_IS_NOT_THERE(dbus_message_is_signal)
DBUS_IS_NOT_THERE(dbus_message_marshal)
DBUS_IS_NOT_THERE(dbus_message_unref)
