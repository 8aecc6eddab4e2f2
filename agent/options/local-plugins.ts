// SPDX-License-Identifier: Apache-2.0
// Stands in for plugins/registry.ts until it is merged.
import { InvalidInputError } from '../../core/errors.js'
import type { PluginSpec } from '../../plugins/spec.js'

export const pluginNames: readonly string[] = [
  'ping',
  'kubelet',
  'kubeletauth',
  'http',
  'selfreport',
]

const PORTS: Readonly<Record<string, number>> = { ping: 22, kubelet: 10_248, kubeletauth: 10_250 }

const millionths = (name: string, text: string): number => {
  const match = /^(\d{1,3})(?:\.(\d{1,6}))?$/.exec(text)
  if (match === null)
    throw new InvalidInputError(`${name} plugin: weight`, 'must be a number above 0', text)
  return Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0'))
}

export const parsePluginSpec = (name: string, text: string): PluginSpec => {
  const fields = new Map<string, string>()
  for (const part of text.split(',').filter(piece => piece.trim() !== '')) {
    const at = part.indexOf('=')
    const key = part.slice(0, at).trim()
    if (
      at < 1 ||
      !['timeout', 'retrytime', 'weight', 'port', 'ca', 'token-file', 'url'].includes(key)
    )
      throw new InvalidInputError(`${name} plugin`, 'must be key=value pairs', part)
    fields.set(key, part.slice(at + 1).trim())
  }
  const url = fields.get('url')
  const ca = fields.get('ca')
  const tokenFile = fields.get('token-file')
  return {
    name,
    weight: millionths(name, fields.get('weight') ?? '1'),
    port: Number(fields.get('port') ?? PORTS[name] ?? 0),
    ...(url === undefined ? {} : { url }),
    ...(ca === undefined ? {} : { ca }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
  }
}
