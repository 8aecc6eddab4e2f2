// SPDX-License-Identifier: Apache-2.0
// Removes secrets from texts that leave this machine: known secrets of this process, and texts that look like secrets.

export const REDACTED = '[redacted]'

/** Patterns of secrets. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [^-\n]+-----[\s\S]*?(?:-----END [^-\n]+-----|$)/g, REDACTED],
  // A JWT, such as a service account's token.
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, REDACTED],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${REDACTED}`],
  // user:password@ of a URL.
  [/(\b[a-z][\w+.-]*:\/\/)[^\s/"]+@/gi, `$1${REDACTED}@`],
  // Quotes may be escaped: JSON inside a JSON string.
  [
    /((?:password|passwd|(?<!key-)secret|token|api[-_]?key|hmac[-_]?key|private[-_]?key|primary|secondary)\\*["']?\s*[:=]\s*)("(?:[^"\\\n]|\\.)*"|\\+"[^"\n]*"|'[^'\n]*'|[^\s,;}"']+)/gi,
    `$1${REDACTED}`,
  ],
  // At least 32 bytes in base64, as keys are; paths and names are shorter or contain other characters.
  [/(?<![\w+/=-])(?=[\w+/]*\d)(?=[\w+/]*[A-Z])(?=[\w+/]*[a-z])[A-Za-z0-9+/]{42,}={0,2}/g, REDACTED],
]

const SHORTEST = 6

/**
 * @param secrets texts to remove anywhere; those of less than six characters cannot be told from other words
 */
export const redact = (text: string, secrets: readonly string[]): string => {
  const known = secrets
    .flatMap(secret => [secret, secret.trim(), JSON.stringify(secret).slice(1, -1)])
    .flatMap(secret => [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)])
    .filter(secret => secret.length >= SHORTEST)
    .sort((a, b) => b.length - a.length)
  const without = known.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text)
  return FORMS.reduce((rest, [form, words]) => rest.replaceAll(form, words), without)
}

const SECRET_NAME = /token|secret|passw|credential|private|hmac|(?:^|_)key(?:$|_)/i

/** Values of variables whose names suggest that they are secret. */
export const secretsOf = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  )
