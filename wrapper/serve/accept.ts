// SPDX-License-Identifier: Apache-2.0
/** Encoding of a response; `pass`: the request is passed on, and the apiserver encodes or refuses it. */
export type Encoding = 'json' | 'protobuf' | 'pass'

interface Clause {
  readonly type: string
  readonly quality: number
  readonly params: ReadonlyMap<string, string>
}

export const JSON_TYPE = 'application/json'
export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf'
const YAML_TYPE = 'application/yaml'

const WILD = '*/*'
/** Forms of objects that kubectl and metadata informers ask for. */
const FORMS: ReadonlyMap<string, RegExp> = new Map([
  [JSON_TYPE, /^(Table|PartialObjectMetadata(List)?)$/],
  [PROTOBUF_TYPE, /^PartialObjectMetadata(List)?$/],
])

const parseClause = (text: string): Clause => {
  const [type = '', ...rest] = text.split(';').map(part => part.trim())
  const params = new Map<string, string>()
  for (const part of rest) {
    const at = part.indexOf('=')
    if (at > 0) params.set(part.slice(0, at).trim(), part.slice(at + 1).trim())
  }
  const quality = Number(params.get('q') ?? '1')
  return {
    type: type.toLowerCase(),
    quality: quality >= 0 && quality <= 1 ? quality : 1,
    params,
  }
}

const isWild = ({ type }: Clause): boolean => type === WILD

/** The media types by quality, specific ones before wildcards, otherwise in the order of the header. */
const clausesOf = (accept: string): readonly Clause[] =>
  accept
    .split(',')
    .map(parseClause)
    .sort((a, b) => b.quality - a.quality || Number(isWild(a)) - Number(isWild(b)))

/** Undefined for a media type that is not supported. */
const choose = (clause: Clause): Encoding | undefined => {
  const form = clause.params.get('as')
  const type = isWild(clause) ? JSON_TYPE : clause.type
  if (form !== undefined) {
    const isOurs = clause.params.get('g') === 'meta.k8s.io'
    const isKnown = /^v1(beta1)?$/.test(clause.params.get('v') ?? '')
    return isOurs && isKnown && FORMS.get(type)?.test(form) === true ? 'pass' : undefined
  }
  if (type === JSON_TYPE) return 'json'
  if (type === PROTOBUF_TYPE) return 'protobuf'
  return type === YAML_TYPE ? 'pass' : undefined
}

/** Choose by the Accept header, as kube-apiserver does: `q=0` refuses nothing. */
export const negotiate = (accept = ''): Encoding => {
  if (accept.trim() === '') return 'json'
  for (const clause of clausesOf(accept)) {
    const chosen = choose(clause)
    if (chosen !== undefined) return chosen
  }
  return 'pass'
}

/** Whether an answer may be compressed. */
export const takesGzip = (acceptEncoding: string | undefined): boolean =>
  (acceptEncoding ?? '')
    .split(',')
    .map(parseClause)
    .some(({ type, quality }) => type === 'gzip' && quality > 0)
