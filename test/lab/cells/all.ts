// SPDX-License-Identifier: Apache-2.0
// The chaos cells.
import type { Cell } from '../cell.js'
import { CLOUD } from './cloud.js'
import { DEATHS, TIMED } from './deaths.js'
import { DISKS } from './disks.js'
import { FLOODS } from './floods.js'
import { KEEPING } from './keeping.js'
import { LINKS } from './links.js'
import { MACHINE } from './machine.js'
import { RESTARTS } from './restarts.js'
import { ROGUE } from './rogue.js'
import { VERSIONS } from './versions.js'
import { VOUCHING } from './vouching.js'
import { WRITES } from './writes.js'
import { GRIDS } from '../grids/cells.js'
import { WRAPPER } from '../wrapper/cells.js'

/** All cells, in the order in which they are played. */
export const CELLS: readonly Cell[] = [
  ...TIMED,
  ...DEATHS,
  ...WRITES,
  ...VOUCHING,
  ...KEEPING,
  ...CLOUD,
  ...LINKS,
  ...RESTARTS,
  ...DISKS,
  ...VERSIONS,
  ...MACHINE,
  ...ROGUE,
  ...FLOODS,
  ...WRAPPER,
  ...GRIDS,
]

/** Faults that this lab cannot bring about, and why. */
export const NOT_PLAYED: readonly string[] = [
  'steps of the monotonic clock: the kernel lets nobody set it; an agent that stands still (SIGSTOP) sees its timers late, and that is played',
  'delay, reordering and bursts of loss: they need the kernel’s netem, which many machines lack; loss is played packet by packet',
]
