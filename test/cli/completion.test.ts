// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { runCli } from '../../testkit/run-cli.js'
import { findTool } from '../../testkit/find-tool.js'

t.setTimeout(180_000)

const run = (line: string, env: Record<string, string> = {}) =>
  runCli(line.split(' '), { env, parts: { lazyCommands } })

/** Run a program to its end, in a home that holds `files`. */
const shell = (t: Test, command: readonly string[], files: Readonly<Record<string, string>>) => {
  const home = t.testdir()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text)
  const [program = '', ...args] = command
  const { status, stdout, stderr } = spawnSync(program, args, {
    ...{ cwd: home, encoding: 'utf8', timeout: 60_000 },
    env: { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb', XDG_CONFIG_HOME: home },
  })
  return { status, out: stdout, err: stderr }
}

/** What is typed, word by word, and what the shell offers for the last one. */
const ROWS: readonly (readonly [words: readonly string[], offered: readonly string[]])[] = [
  [['st'], ['status']],
  [['sandbox'], []],
  [
    ['status', '--'],
    ['--agent', '--output', '--watch', '--help'],
  ],
  [
    ['status', '--output', ''],
    ['text', 'json'],
  ],
  [['status', '-o', 'j'], ['json']],
  [
    ['cluster', ''],
    ['zones', 'nodes', 'explain'],
  ],
  [['cluster', 'nodes', '--zo'], ['--zone']],
  [['--agent', 'cluster', 'z'], ['zones']],
  [['status', '--agent', 'cluster', '--wa'], ['--watch']],
  [
    ['agent', '--vouch', ''],
    ['lease', 'taint', 'off'],
  ],
  [['agent', '--config', 'own-'], ['own-config.yaml']],
  [['agent', '--check-period', ''], []],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
]

const linesOf = (out: string): readonly string[] =>
  out.split('\n').map(line =>
    line
      .split(' ')
      .filter(word => word !== '')
      .sort()
      .join(' '),
  )

const expected = ROWS.map(([, offered]) => [...offered].sort().join(' '))
const FILES = { 'own-config.yaml': '' }

t.test('bash completes commands, options and their values', async t => {
  const script = await run('completion bash')
  t.equal(script.code, 0, script.err)
  const tries = ROWS.map(
    ([words]) =>
      `try ${['edge-health', ...words].map(word => (word === '' ? "''" : word)).join(' ')}`,
  )
  const driver = `source ./script
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _edge_health; echo "\${COMPREPLY[*]}"; }
${tries.join('\n')}
try edge-health status --output = js
`
  const files = { ...FILES, script: script.out, driver }
  const { out, err } = shell(t, ['bash', '--norc', 'driver'], files)
  t.equal(err, '')
  t.strictSame(linesOf(out).slice(0, -1), [...expected, 'json'])
})

const fish = findTool('fish')
t.test('fish does', { skip: fish.missing }, async t => {
  const script = await run('completion fish')
  const tries = ROWS.map(
    ([words]) =>
      `set -l offered (complete -C '${['edge-health', ...words].join(' ')}' | string split -f 1 \\t); echo "$offered"`,
  )
  const driver = `source ./script\n${tries.join('\n')}\n`
  const files = { ...FILES, script: script.out, driver }
  const { out, err } = shell(t, [fish.path, '--no-config', 'driver'], files)
  t.equal(err, '')
  const shown = linesOf(out).slice(0, -1)
  const isShort = (words: readonly string[]) => words.at(-1) === '--'
  t.strictSame(
    shown.map((line, index) => (isShort(ROWS[index]![0]) ? '' : line)),
    expected.map((line, index) => (isShort(ROWS[index]![0]) ? '' : line)),
  )
  t.match(shown[2], /--agent .*--output .*--watch/)
})

const zsh = findTool('zsh')
t.test('zsh does, on a terminal', { skip: zsh.missing }, async t => {
  const script = await run('completion zsh')
  t.match(script.out, /^#compdef edge-health\n/)
  const rows: readonly (readonly [typed: string, shown: string])[] = [
    ['edge-health status --ou\t', '--output'],
    ['edge-health statu\t', 'status '],
    ['edge-health status -o j\t', 'json'],
    ['edge-health status --output=js\t', '=json'],
    ['edge-health cluster nod\t', 'nodes'],
    ['edge-health agent --config own-c\t', 'own-config.yaml'],
    ['edge-health completion \t', 'fish*zsh'],
  ]
  const start = [
    'module_path=($module_path)',
    'fpath=($fpath)',
    "PS1=''; autoload -Uz compinit; compinit -D -u; source ./script; print RE''ADY",
  ]
  const asks = rows.map(
    ([typed, shown]) => `ask $'${typed.replaceAll('\t', '\\t')}' '${shown}' || exit 1`,
  )
  const driver = `if [[ -n $TOOL_TREE ]]; then
  module_path=($TOOL_TREE/usr/lib/*/zsh/*(/)) fpath=($TOOL_TREE/usr/share/zsh/functions/**/*(/))
fi
zmodload zsh/zpty || exit 9
zpty z "${zsh.path} -f -i"
zpty -w z "${start.join('; ')}"
zpty -r -m z buf '*READY*' || exit 8
ask() { zpty -w -n z $1; zpty -r -m z buf "*$2*" && print "offered $2"; local ok=$?; zpty -w -n z $'\\x15'; return $ok }
${asks.join('\n')}
`
  const files = { ...FILES, script: script.out, driver }
  const { out, err, status } = shell(t, [zsh.path, '-f', 'driver'], files)
  t.strictSame([status, err], [0, ''], out)
  t.equal(out, rows.map(([, shown]) => `offered ${shown}\n`).join(''))
})

t.test('bad usage, and help', async t => {
  const rows: [line: string, message: RegExp][] = [
    ['completion', /^edge-health: argument <shell> must be given\n$/],
    ['completion csh', /csh/],
    ['man page', /too many arguments/],
  ]
  for (const [line, message] of rows) {
    const { code, out, err } = await run(line)
    t.strictSame([code, out], [2, ''], line)
    t.match(err, message, line)
  }
  t.match((await run('completion --help')).out, /source <\(edge-health completion bash\)/)
  t.match((await run('man --help')).out, /Exit codes: 0 done, 2 bad usage\./)
  const dated = await run('man', { SOURCE_DATE_EPOCH: 'soon' })
  t.match(dated, { code: 2, err: /SOURCE_DATE_EPOCH must be seconds since 1970, got "soon"/ })
})

t.test('the manual page has every command with every option', async t => {
  const { code, out } = await run('man', { SOURCE_DATE_EPOCH: '1767225600' })
  t.equal(code, 0)
  t.match(out, /^\.Dd January 1, 2026$/m)
  for (const command of ['agent', 'cluster nodes', 'grids render', 'wrapper', 'demo']) {
    const help = (await run(`${command} --help`)).out
    const options = [...help.matchAll(/^ {2,}(?:-\w, )?(--[a-z-]+)/gm)].map(([, name]) => name!)
    t.ok(options.length > 1, command)
    const section = out.split(`\n.Ss ${command}\n`)[1]?.split('\n.Ss ')[0] ?? ''
    for (const name of options) t.ok(section.includes(`Fl ${name.slice(1)}`), `${command} ${name}`)
  }
  t.notMatch(out, /sandbox-kubelet|healthcheckperiod/, 'what is hidden stays so')
})

const mandoc = findTool('mandoc')
t.test('mandoc finds nothing to complain of', { skip: mandoc.missing }, async t => {
  const page = (await run('man')).out
  const { out, err, status } = shell(t, [mandoc.path, '-T', 'lint', 'page.1'], { 'page.1': page })
  t.strictSame([status, out, err], [0, '', ''])
  const shown = shell(t, [mandoc.path, '-T', 'utf8', 'page.1'], { 'page.1': page })
  // Bold is a letter, a backspace, and the letter again.
  const plain = shown.out.replaceAll(new RegExp(`.${String.fromCharCode(8)}`, 'g'), '')
  t.match(plain, /edge-health cluster explain \[options\] node/)
})
