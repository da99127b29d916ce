/* Replaces the functions of libdbus that the static libpcap calls to capture the D-Bus message bus
 * (pcap-dbus.c). A static libdbus needs libsystemd, which Debian has no archive of, and net_pcap
 * only opens network interfaces and files. So every call fails here, and such a capture is refused
 * ("Failed to get session bus"). Only the static engine is linked with it. */
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
