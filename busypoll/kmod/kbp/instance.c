// SPDX-License-Identifier: GPL-2.0
/* NAPI instances of a device, by position. */
#include <linux/rtnetlink.h>

#include "kbp.h"

/* kbp_instance is a device's instance by position, under RTNL or RCU. The newest is the
 * first in the list.
 */
struct napi_struct *kbp_instance(struct net_device *dev, unsigned int index)
{
	struct napi_struct *napi;
	unsigned int count = 0;

	list_for_each_entry_rcu(napi, &dev->napi_list, dev_list, lockdep_rtnl_is_held()) count++;
	list_for_each_entry_rcu(napi, &dev->napi_list, dev_list,
				lockdep_rtnl_is_held()) if (--count == index) return napi;
	return NULL;
}
