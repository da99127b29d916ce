// Package site tests management networks that a lab shares with the host, on the network of a site with other machines and
// other labs, as users see them: by the command nines. It needs root.
package site
