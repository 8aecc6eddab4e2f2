// SPDX-License-Identifier: Apache-2.0
import { Sink } from '../../wrapper/wire/sink.js'

/** A Node in protobuf whose condition was heard of at this second. */
export const heardAt = (name: string, seconds: number): Uint8Array =>
  new Sink()
    .message(1, meta => meta.text(1, name).text(6, '1'))
    .message(3, status =>
      status.message(4, condition =>
        condition.text(1, 'Ready').message(3, time => time.number(1, seconds)),
      ),
    )
    .take()
