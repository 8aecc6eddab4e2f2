// SPDX-License-Identifier: Apache-2.0
// Addresses of the lab; all of them live in network namespaces that the lab makes.

/** Where nodes reach the apiserver. */
export const CLOUD_HUB = '10.201.0.1'
/** The same for their kubelets, so that the bytes of the two can be told apart. */
export const KUBELETS_HUB = '10.201.0.2'
/** From where the observer looks. */
export const WATCH_HUB = '10.203.0.1'

/** A node's address on the link to its peers: its InternalIP. */
export const peerAddress = (index: number): string => `10.202.0.${index + 11}`
/** A node's address on the link to the control plane. */
export const cloudAddress = (index: number): string => `10.201.0.${index + 11}`
/** A node's address on the observer's link, which no fault touches. */
export const watchAddress = (index: number): string => `10.203.0.${index + 11}`

/** Where somebody sits who is no member. */
export const STRANGER = 200

/** Above this, neighbours are written down by hand: the kernel's table is one for all namespaces and too small. */
export const MANY_NODES = 24
export const MOST_NODES = 50
