// SPDX-License-Identifier: Apache-2.0
import { AGE } from './script/age.js'
import { DRAWER } from './script/drawer.js'
import { LAST_HOUR } from './script/last-hour.js'
import { MATRIX } from './script/matrix.js'
import { NODES } from './script/nodes.js'
import { SHARED } from './script/shared.js'

/**
 * What runs in the browser: it shows, and decides nothing but how old what it shows is. Everything that comes from the
 * agent goes in as text, never as markup. No backslash and no backquote may stand in it. The parts are one
 * script and share their names.
 */
export const SCRIPT = [SHARED, AGE, NODES, LAST_HOUR, MATRIX, DRAWER].join('')
