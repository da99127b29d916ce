#!/bin/sh
# A setup that failed half-way is torn down too.
ip link del forwarder
true
