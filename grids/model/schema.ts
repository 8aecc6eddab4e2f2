// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { sameJson } from '../../core/json.js'
import { mapOf, texts } from '../../core/map-schema.js'
import { isLabelKey, isLabelValue, SUBDOMAIN } from '../../core/label.js'
import { ruleOf } from '../../core/parse.js'

const text = v.string()

/** A grid's name is used as a label value. */
const MAX_NAME = 63

const objectName = v.pipe(
  text,
  v.regex(SUBDOMAIN, 'must be a name of Kubernetes: small letters, digits, dots and dashes'),
)
const gridName = v.pipe(
  objectName,
  v.maxLength(MAX_NAME, `must have at most ${MAX_NAME} characters: it labels the children`),
)

const metadata = v.object({
  name: gridName,
  namespace: v.optional(objectName, 'default'),
  uid: v.optional(text),
  generation: v.optional(v.pipe(v.number(), v.integer('must be a whole number')), 1),
  creationTimestamp: v.optional(text),
  deletionTimestamp: v.optional(text),
  labels: v.optional(texts, {}),
  annotations: v.optional(texts, {}),
})

const labelKey = v.pipe(text, v.check(isLabelKey, 'must be the key of a node label'))
const unitName = v.pipe(
  text,
  v.check(unit => unit !== '' && isLabelValue(unit), 'must be the name of a unit'),
)

/** Exactly one of them is required; an empty `nodeUnits` means all. */
const sourceFields = {
  gridUniqKey: v.optional(labelKey),
  nodeUnits: v.optional(v.object({ names: v.optional(v.pipe(v.array(unitName), v.minLength(1))) })),
}
const map = v.looseObject({})

/** Where Kubernetes' hints know the unit, by the preference that asks for them. */
const DISTRIBUTIONS = ['PreferSameZone', 'PreferClose', 'PreferSameNode'] as const

const serviceSpec = v.object({
  ...sourceFields,
  template: map,
  trafficDistribution: v.optional(v.picklist(DISTRIBUTIONS)),
})

const matchLabels = (selector: { matchLabels?: Readonly<Record<string, string>> | undefined }) =>
  Object.entries(selector.matchLabels ?? {})

/** The spec of a Deployment or StatefulSet, as far as a grid depends on it; the apiserver checks the rest. */
const workloadTemplate = v.pipe(
  v.looseObject({
    replicas: v.optional(
      v.pipe(
        v.number(),
        v.integer('must be a whole number'),
        v.minValue(0, 'must not be negative'),
        v.maxValue(2 ** 31 - 1, 'must fit 32 bits'),
      ),
    ),
    selector: v.looseObject({ matchLabels: v.optional(texts) }),
    template: v.looseObject({
      metadata: v.optional(v.looseObject({ labels: v.optional(texts) })),
      spec: v.looseObject({ nodeSelector: v.optional(texts) }),
    }),
  }),
  v.check(
    ({ selector, template }) =>
      matchLabels(selector).every(([key, value]) => template.metadata?.labels?.[key] === value),
    'must have every label of selector.matchLabels among template.metadata.labels',
  ),
)

const operation = v.object({
  op: v.picklist(['add', 'remove', 'replace', 'move', 'copy', 'test']),
  path: v.pipe(text, v.startsWith('/', 'must begin with a slash')),
  from: v.optional(text),
  value: v.optional(v.unknown(), null),
})

const override = v.object({
  units: v.optional(v.pipe(v.array(unitName), v.minLength(1, 'must name a unit, or be left out'))),
  patches: v.pipe(v.array(operation), v.minLength(1, 'must have a patch')),
})

const workloadSpec = v.object({
  ...sourceFields,
  template: workloadTemplate,
  templatePool: v.optional(
    v.pipe(
      mapOf(workloadTemplate),
      v.check(
        pool => !Object.hasOwn(pool, 'default'),
        'must not have "default": it names spec.template',
      ),
    ),
    {},
  ),
  templates: v.optional(texts, {}),
  defaultTemplateName: v.optional(text, 'default'),
  autoDeleteUnusedTemplate: v.optional(v.boolean()),
  overrides: v.optional(v.array(override), []),
  headlessService: v.optional(v.boolean(), false),
})

const fitsHeadlessServices = v.check(
  ({ headlessService, template, templatePool }: v.InferOutput<typeof workloadSpec>) =>
    !headlessService ||
    [template, ...Object.values(templatePool)].every(
      ({ selector }) => matchLabels(selector).length > 0,
    ),
  'must have matchLabels in each selector with headlessService: the selector of a Service has no expressions',
)

/** Parsers of grids by kind. */
export const serviceGrid = v.object({ metadata, spec: serviceSpec })
export const workloadGrid = v.object({ metadata, spec: v.pipe(workloadSpec, fitsHeadlessServices) })
/** Known fields of a spec. */
export const SERVICE_FIELDS: readonly string[] = Object.keys(serviceSpec.entries)
export const WORKLOAD_FIELDS: readonly string[] = Object.keys(workloadSpec.entries)

/** What is wrong with a template after overrides; undefined when nothing is. */
export const templateTrouble = (before: unknown, after: unknown): string | undefined => {
  const parsed = v.safeParse(workloadTemplate, after, { abortEarly: true })
  if (!parsed.success) {
    const [issue] = parsed.issues
    return `${v.getDotPath(issue) ?? 'the template'} ${ruleOf(issue)}`
  }
  const { selector } = v.parse(workloadTemplate, before)
  return sameJson(selector, parsed.output.selector)
    ? undefined
    : 'selector must stay as it is: the workloads keep theirs'
}
