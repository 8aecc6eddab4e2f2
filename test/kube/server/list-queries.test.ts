// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decodeToken, encodeToken, tokenExpired } from '../../../kube/server/continue-token.js'
import { parseFieldSelector } from '../../../kube/server/field-selector.js'
import { parseLabelSelector } from '../../../kube/server/label-selector.js'
import {
  parseFlag,
  parseListOptions,
  parseWatchOptions,
} from '../../../kube/server/list-options.js'
import { Refusal } from '../../../kube/server/status.js'
import fc from '../../../testkit/properties.js'

/** `status message` of the refusal that some work ends in; undefined when it does not. */
const refusal = (work: () => unknown): string | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.said}`
    throw error
  }
}

const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
const REQUIREMENT = 'unable to parse requirement: '

// What kube-apiserver 1.36.3 says.
t.test('label selectors that do not parse are refused in the words of the real one', t => {
  const rows: [selector: string, message: string][] = [
    ['a b', `${REQUIREMENT}found 'b', expected: in, notin, =, ==, !=, gt, lt`],
    ['a===b', `${REQUIREMENT}found '=', expected: identifier`],
    ['a=!b', `${REQUIREMENT}found '!', expected: identifier`],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    [
      'a>b',
      `${REQUIREMENT}values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ['-a', `${REQUIREMENT}<nil>: Invalid value: "-a": name part ${NAME_RULE}`],
    ['a in (b,', `${REQUIREMENT}found '', expected: ',', or identifier`],
    ['a in (b', `${REQUIREMENT}found '', expected: ',' or ')'`],
    ['a in b', `${REQUIREMENT}found 'b' expected: '('`],
    ['a in (=', `${REQUIREMENT}found '=', expected: ',', ')' or identifier`],
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['/c', `${REQUIREMENT}<nil>: Invalid value: "/c": prefix part must be non-empty`],
    ['c/', `${REQUIREMENT}<nil>: Invalid value: "c/": name part must be non-empty`],
    [
      'a/b/c',
      `${REQUIREMENT}<nil>: Invalid value: "a/b/c": a valid label key ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ],
    ['a=-c', `${REQUIREMENT}values[0][a]: Invalid value: "-c": ${VALUE_RULE}`],
    ['a in (-c,d)', `${REQUIREMENT}values[0][a]: Invalid value: "-c": ${VALUE_RULE}`],
  ]
  for (const [selector, message] of rows)
    t.equal(
      refusal(() => parseLabelSelector(selector)),
      `400 ${message}`,
      selector,
    )
  t.match(
    refusal(() => parseLabelSelector('A/c')),
    'prefix part a lowercase RFC 1123',
  )
  for (const long of ['a'.repeat(64), `${'a'.repeat(254)}/b`, `a=${'b'.repeat(64)}`])
    t.match(
      refusal(() => parseLabelSelector(long)),
      /must be no more than (63|253) bytes/,
    )
  t.end()
})

t.test('what label selectors want', t => {
  const labels = { a: 'b', n: '5', in: 'x', e: '' }
  const rows: [selector: string, wants: boolean][] = [
    ['', true],
    ['  ', true],
    ['a', true],
    ['!a', false],
    ['! z', true],
    ['a=b', true],
    ['a==c', false],
    ['a!=c,z!=c', true],
    ['a!=b', false],
    ['a in (b,c),n', true],
    ['a notin (b)', false],
    ['z notin (b)', true],
    ['z in (b)', false],
    ['e in ()', true],
    ['e in (,x)', true],
    ['e in (x,)', true],
    ['e in (x,,y)', true],
    ['e=', true],
    ['e=,a', true],
    ['z=', false],
    ['in', true],
    ['in=x', true],
    ['in in (in,x)', true],
    ['n>4,n<6', true],
    ['n>5', false],
    ['n<5', false],
    ['n>+4', true],
    ['a>4', false],
    ['z<4', false],
  ]
  for (const [selector, wants] of rows)
    t.equal(parseLabelSelector(selector)(new Map(Object.entries(labels))), wants, selector)
  t.end()
})

t.test('whatever a selector is, it is parsed or refused with 400', t => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'in', '=', '!', '(', ')', ',', ' ', '<', '-', '/') }),
    fc.string(),
  )
  fc.assert(
    fc.property(text, selector => {
      const complaint = (field: string) => (field === 'a' ? undefined : 'no')
      for (const parse of [parseLabelSelector, (s: string) => parseFieldSelector(s, complaint)])
        t.match(refusal(() => parse(selector)) ?? '400', /^400/)
    }),
  )
  t.end()
})

t.test('field selectors', t => {
  const complaint = (field: string): string | undefined => (field === 'no' ? 'not here' : undefined)
  const parse = (text: string) => parseFieldSelector(text, complaint)
  t.strictSame(parse('a=b,c!=d,,e==f\\,g\\=h\\\\'), [
    { field: 'a', isEqual: true, value: 'b' },
    { field: 'c', isEqual: false, value: 'd' },
    { field: 'e', isEqual: true, value: 'f,g=h\\' },
  ])
  t.strictSame(parse(''), [])
  t.strictSame(parse('=,!='), [], 'nothing that must be nothing')
  const rows: [selector: string, message: string][] = [
    ['foo', "invalid selector: 'foo'; can't understand 'foo'"],
    ['no=1', 'not here'],
    ['a=\\z', 'invalid field selector: invalid escape sequence: \\z'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
  ]
  for (const [selector, message] of rows)
    t.equal(
      refusal(() => parse(selector)),
      `400 ${message}`,
    )
  t.end()
})

const INVALID = '422 ListOptions.meta.k8s.io "" is invalid: '
const MATCH = 'resourceVersionMatch: Forbidden: '

t.test('options of lists and watches are refused in the words of the real one', t => {
  const list: [query: string, refused: string | undefined][] = [
    ['limit=5&resourceVersion=0', undefined],
    ['limit=-1', undefined],
    ['limit=%2B5', undefined],
    ['limit=abc', '400 strconv.ParseInt: parsing "abc": invalid syntax'],
    ['limit=', '400 strconv.ParseInt: parsing "": invalid syntax'],
    ['limit=1.5', '400 strconv.ParseInt: parsing "1.5": invalid syntax'],
    [
      'limit=9'.padEnd(40, '9'),
      `400 strconv.ParseInt: parsing "${'9'.repeat(34)}": value out of range`,
    ],
    ['timeoutSeconds=abc', '400 strconv.ParseInt: parsing "abc": invalid syntax'],
    [
      'resourceVersion=abc',
      '400 invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    [
      'resourceVersion=-1',
      '400 invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
    ],
    [
      'resourceVersion=99999999999999999999999999',
      '400 invalid resource version: resourceVersion: Invalid value: "99999999999999999999999999": strconv.ParseUint: parsing "99999999999999999999999999": value out of range',
    ],
    [
      'resourceVersion=0&resourceVersionMatch=Exact',
      `${INVALID}${MATCH}resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    ],
    [
      'resourceVersionMatch=Exact',
      `${INVALID}${MATCH}resourceVersionMatch is forbidden unless resourceVersion is provided`,
    ],
    [
      'resourceVersion=1&resourceVersionMatch=Foo',
      `${INVALID}resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`,
    ],
    [
      'continue=x&resourceVersionMatch=Exact&resourceVersion=1',
      `${INVALID}${MATCH}resourceVersionMatch is forbidden when continue is provided`,
    ],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
      `${INVALID}[${MATCH}resourceVersionMatch is forbidden unless resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]`,
    ],
    [
      'continue=x&resourceVersion=5',
      '400 specifying resource version is not allowed when using continue',
    ],
  ]
  for (const [query, refused] of list)
    t.equal(
      refusal(() => parseListOptions(new URLSearchParams(query))),
      refused,
      query,
    )
  const initial = `${MATCH}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`
  const only = 'resourceVersionMatch: Unsupported value: "Foo": supported values: "NotOlderThan"'
  const watch: [query: string, refused: string | undefined][] = [
    ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan', undefined],
    ['timeoutSeconds=0&limit=1', undefined],
    ['timeoutSeconds=abc', '400 strconv.ParseInt: parsing "abc": invalid syntax'],
    [
      'resourceVersion=abc',
      '500 resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    ['sendInitialEvents=false', `${INVALID}${initial}`],
    ['sendInitialEvents=true&resourceVersionMatch=Foo', `${INVALID}[${initial}, ${only}]`],
    [
      'resourceVersionMatch=NotOlderThan',
      `${INVALID}${MATCH}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
    ],
    ['continue=x', `${INVALID}${MATCH}resourceVersionMatch is forbidden when continue is provided`],
  ]
  for (const [query, refused] of watch)
    t.equal(
      refusal(() => parseWatchOptions(new URLSearchParams(query), true)),
      refused,
      query,
    )
  t.match(
    refusal(() =>
      parseWatchOptions(
        new URLSearchParams('sendInitialEvents=1&resourceVersionMatch=NotOlderThan'),
        false,
      ),
    ),
    'unless the WatchList feature gate is enabled',
  )
  t.end()
})

t.test('options as they are understood', t => {
  t.strictSame(parseListOptions(new URLSearchParams('limit=-3&resourceVersion=7')), {
    limit: 0,
    match: '',
    version: 7,
    token: '',
  })
  const query = new URLSearchParams(
    'allowWatchBookmarks=1&timeoutSeconds=9&sendInitialEvents=FALSE&resourceVersionMatch=NotOlderThan',
  )
  t.strictSame(parseWatchOptions(query, true), {
    version: undefined,
    sendsInitial: false,
    bookmarks: true,
    seconds: 9,
  })
  t.strictSame(parseWatchOptions(new URLSearchParams('timeoutSeconds=-4'), true), {
    version: undefined,
    sendsInitial: undefined,
    bookmarks: false,
    seconds: undefined,
  })
  const { seconds } = parseWatchOptions(new URLSearchParams(`timeoutSeconds=${2 ** 40}`), true)
  t.ok(seconds! * 1_000 < 2 ** 31, 'timers cannot wait longer: they would fire at once')
  const flags: [string, boolean][] = [
    ['true', true],
    ['1', true],
    ['', true],
    ['foo', true],
    ['false', false],
    ['FALSE', false],
    ['0', false],
  ]
  for (const [text, wanted] of flags) t.equal(parseFlag(text), wanted, `watch=${text}`)
  t.end()
})

t.test('continue tokens', t => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.string(), (version, after) => {
      t.strictSame(decodeToken(encodeToken({ version, after })), { version, after })
    }),
  )
  fc.assert(
    fc.property(fc.string(), text => {
      t.match(
        refusal(() => decodeToken(text)),
        /^400 invalid continue token/,
      )
    }),
  )
  const gone = tokenExpired({ version: 5, after: 'a/b' })
  t.match(gone, { status: 410, reason: 'Expired' })
  t.strictSame(decodeToken(gone.continue!), { version: 0, after: 'a/b' })
  t.end()
})
