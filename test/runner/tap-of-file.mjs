// SPDX-License-Identifier: Apache-2.0
// What a test file that shares its process imports as tap: loaded anew for each of them, while it is the current one.
import { testOfFile } from './together.mjs'

export default testOfFile()
