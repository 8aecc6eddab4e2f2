// SPDX-License-Identifier: Apache-2.0
import type { LazyCommand } from './lazy-command.js'
import { wrapperCommand } from './wrapper-command.js'

/** Commands that are loaded when they are called, by name. */
export const lazyCommands: readonly LazyCommand[] = [
  wrapperCommand,
  {
    name: 'grids',
    description:
      'run the controller of grids: Services, and workloads with a copy for every unit of nodes',
    load: async () => ({ register: (await import('./grids.js')).registerGrids }),
  },
  {
    name: 'admission',
    description:
      'run the webhook that keeps Pods on nodes that their peers vouch for, for Kubernetes before 1.36',
    load: async () => ({ register: (await import('./admission.js')).registerAdmission }),
  },
  {
    name: 'bridge',
    description: "serve KubeEdge's edges in cloudcore's place: their Nodes, Leases and Pods",
    load: async () => ({ register: (await import('./bridge.js')).registerBridge }),
  },
  {
    name: 'make-key',
    description: 'create the Secret with the key that agents sign with, unless it exists',
    load: async () => ({ register: (await import('./make-key.js')).registerMakeKey }),
  },
  {
    name: 'cluster',
    description: "show zones and nodes as the cluster's API shows them; also kubectl edge-health",
    load: async () => ({ register: (await import('./cluster.js')).registerCluster }),
  },
  {
    name: 'complete-cluster',
    description: 'complete a line that begins with kubectl edge-health, for kubectl',
    hidden: true,
    load: async () => ({
      register: (await import('./complete-cluster.js')).registerCompleteCluster,
    }),
  },
  {
    name: 'doctor',
    description:
      'find out what is wrong with this node, its agent and its zone, and say what to do',
    load: async () => ({ register: (await import('./doctor.js')).registerDoctor }),
  },
  {
    name: 'matrix',
    description: 'show how each node votes on each other node, as the agent of this node knows it',
    load: async () => ({ register: (await import('./matrix.js')).registerMatrix }),
  },
  {
    name: 'history',
    description: 'show recent events, as the agent of this node saw them',
    load: async () => ({ register: (await import('./history.js')).registerHistory }),
  },
  {
    name: 'bundle',
    description: 'write a tar file for a bug report, without secrets',
    load: async () => ({ register: (await import('./bundle.js')).registerBundle }),
  },
  {
    name: 'demo',
    description:
      'run a whole zone of agent processes on this machine, against an embedded Kubernetes API',
    load: async () => ({ register: (await import('./demo.js')).registerDemo }),
  },
  {
    name: 'completion',
    description: 'print a script that lets bash, zsh or fish complete commands and options',
    load: async () => ({
      register: (await import('./completion.js')).registerCompletion(lazyCommands),
    }),
  },
  {
    name: 'man',
    description: 'print the manual page',
    load: async () => ({ register: (await import('./completion.js')).registerMan(lazyCommands) }),
  },
  {
    name: 'sandbox-kubelet',
    description: "the demo's kubelet of one node",
    hidden: true,
    load: async () => ({ register: (await import('./demo.js')).registerSandboxKubelet }),
  },
]
