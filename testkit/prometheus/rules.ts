// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** As in a PrometheusRule. */
export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface RuleGroup {
  readonly name: string
  readonly rules: readonly AlertRule[]
}

const PATH = join(import.meta.dirname, '../../deploy/components/prometheus-rules/rules.yaml')

/** The groups of a PrometheusRule, without a path of the one that is shipped. */
export const ruleGroups = (path = PATH): readonly RuleGroup[] => {
  const { spec } = parse(readFileSync(path, 'utf8')) as {
    readonly spec: { readonly groups: readonly RuleGroup[] }
  }
  return spec.groups
}
