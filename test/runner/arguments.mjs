// SPDX-License-Identifier: Apache-2.0
// What `npm test -- …` understands.

const STATICS = ['format', 'lint', 'types', 'imports', 'unused', 'build']
const STEPS = [...STATICS, 'tests', 'coverage']

export const USAGE = `npm test                           every check, of tests with many cases of one thing a share of the cases;
                                   the last line is \`N passed, N failed\`, the line before says what is left out
npm test -- --all                  every check with every case, as .ci/run has it
npm test -- --fast                 the inner loop, at most 60 s on two quiet cores: types, format and lint of what changed
                                   since main, unit tests of core, vote, plugins, net and docs and of changed folders
npm test -- --watch FOLDER         the tests of one folder, again after each change: --watch vote, --watch agent/stages/vote
npm test -- --only STEP            one step, may be repeated: ${STEPS.join(', ')},
                                   or statics: all steps before tests
npm test -- --only tests FILE...   chosen test files, with every case; with --only tests and --watch, what is not an option of
                                   ours goes to tap
npm test -- --help                 this text`

const OWN = ['--all', '--fast', '--watch', '--only', '--help']

/** Whether one letter added, removed or replaced, or two neighbours swapped, makes `b` of `a`. */
const isSlip = (a, b) => {
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const [restA, restB] = [a.slice(start), b.slice(start)]
  return [
    restA.slice(1) === restB,
    restA === restB.slice(1),
    restA.slice(1) === restB.slice(1),
    restA.slice(2) === restB.slice(2) && restA[0] === restB[1] && restA[1] === restB[0],
  ].some(Boolean)
}

/** Chosen files are played whole, and cover what they cover, often nothing that must be. */
export const namesFiles = rest => rest.some(argument => !argument.startsWith('-'))

/**
 * Arguments → what to do: `help`, `checks` (with the wanted steps, what goes to tap, and whether tests play every case), `fast`,
 * `watch` (with its folder); or `error`, with a text.
 */
export const parseArguments = list => {
  const only = []
  const rest = []
  let folder
  let isFast = false
  let isWhole = false
  const error = text => ({ kind: 'error', text })
  for (let i = 0; i < list.length; i++) {
    const [name, given] = /^(--(?:only|watch))=(.*)$/.exec(list[i])?.slice(1) ?? [list[i]]
    if (name === '--help' || name === '-h') return { kind: 'help' }
    if (name === '--fast') isFast = true
    else if (name === '--all') isWhole = true
    else if (name === '--only') only.push(given ?? list[++i] ?? '')
    else if (name === '--watch') folder = given ?? list[++i] ?? ''
    else rest.push(list[i])
  }
  for (const argument of rest) {
    const meant = OWN.find(name => isSlip(argument.split('=', 1)[0], name))
    if (meant !== undefined) return error(`no option ${argument} (did you mean ${meant}?)`)
  }
  const foreign = rest.find(argument => argument.startsWith('-'))
  if (foreign !== undefined && !only.includes('tests') && folder === undefined)
    return error(`no option ${foreign}; one of tap's needs --only tests`)
  const known = ['statics', ...STEPS]
  const unknown = only.find(name => !known.includes(name))
  if (unknown !== undefined)
    return error(`--only must be one of ${known.join(', ')}, got '${unknown}'`)
  const chosen = [isFast, folder !== undefined, only.length > 0].filter(Boolean)
  if (chosen.length > 1) return error('--fast, --watch and --only exclude each other')
  if (isWhole && isFast) return error('--fast and --all exclude each other')
  if (isFast && rest.length > 0)
    return error(`--fast chooses the tests itself, got '${rest.join(' ')}'`)
  if (isFast) return { kind: 'fast' }
  if (folder === '') return error('--watch needs a folder, for example --watch vote')
  if (folder !== undefined)
    return { kind: 'watch', folder: folder.replace(/^\.?\//, '').replace(/\/+$/, ''), rest }
  const steps = only.flatMap(name => (name === 'statics' ? STATICS : [name]))
  isWhole ||= namesFiles(rest)
  return { kind: 'checks', steps: steps.length > 0 ? steps : STEPS, rest, isWhole }
}
