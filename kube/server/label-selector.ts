// SPDX-License-Identifier: Apache-2.0
import {
  LabelSelectorError,
  parseLabelSelector as parse,
  type LabelMatch,
} from '../label-selector.js'
import { badRequest } from './status.js'

/**
 * The label selector of a request.
 * @throws Refusal 400 when it does not parse.
 */
export const parseLabelSelector = (text: string): LabelMatch => {
  try {
    return parse(text)
  } catch (error) {
    throw error instanceof LabelSelectorError ? badRequest(error.message) : error
  }
}
