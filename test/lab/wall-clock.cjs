// SPDX-License-Identifier: Apache-2.0
// Loaded into an agent (NODE_OPTIONS=--require): gives this one process a wall clock that can be set. The offset in ms
// is read from the file in LAB_WALL_OFFSET at each SIGUSR2. Timers and the monotonic clock stay as they are.
'use strict'
const { readFileSync } = require('node:fs')

const RealDate = Date
let offsetMs = 0

class SteppedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + offsetMs)
    else super(...args)
  }

  static now() {
    return RealDate.now() + offsetMs
  }
}
globalThis.Date = SteppedDate

process.on('SIGUSR2', () => {
  offsetMs = Number(readFileSync(process.env.LAB_WALL_OFFSET, 'utf8'))
})
