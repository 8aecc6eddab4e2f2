// SPDX-License-Identifier: Apache-2.0
// The manual page in mdoc(7), made from the command line's own tree.
import { flatten, type CommandTree, type OptionLeaf } from './command-tree.js'

const WIDTH = 78

/** Words that roff would interpret. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll(/(?<=^|\s)--(?=\s|$)/g, '\\-\\-')
    .replaceAll(/[\p{Cc}]+/gu, ' ')

/** A line that begins with a dot or a quote would be a request. */
const safe = (line: string): string => (/^[.']/.test(line) ? `\\&${line}` : line)

/** The width as mandoc counts it: characters beyond ASCII become escapes. */
const lengthOf = (text: string): number => text.replaceAll(/\P{ASCII}/gu, '\\[u0000]').length

/** Filled lines; each sentence begins on a new line, as mdoc requires. */
const filled = (text: string): readonly string[] => {
  const lines: string[] = []
  for (const sentence of escaped(text).split(/(?<=[.!?:][)"']?)\s+(?=\S)/)) {
    let line = ''
    for (const word of sentence.split(/\s+/).filter(each => each !== '')) {
      if (line !== '' && lengthOf(line) + 1 + lengthOf(word) > WIDTH) {
        lines.push(safe(line))
        line = word
      } else line = line === '' ? word : `${line} ${word}`
    }
    if (line !== '') lines.push(safe(line))
  }
  return lines
}

/** One argument of a macro. */
const argument = (text: string): string => {
  const plain = escaped(text).replaceAll('"', '\\(dq')
  return /[\s|.,:;()[\]?!]/.test(plain) ? `"${plain}"` : plain
}

const flagsOf = ({ short, long, value, isValueOptional }: OptionLeaf): string => {
  const name = ` ${value === undefined ? '' : `${isValueOptional ? 'Op ' : ''}Ar ${argument(value)}`}`
  const all = short === undefined ? [long] : [short, long]
  return all.map(flag => `Fl ${flag.slice(1)}${value === undefined ? '' : name}`).join(' , ')
}

const optionList = (options: readonly OptionLeaf[]): readonly string[] => [
  '.Bl -tag -width Ds',
  ...options.flatMap(option => [`.It ${flagsOf(option)}`, ...filled(`${option.description}.`)]),
  '.El',
]

/** Text that was wrapped by hand: paragraphs are kept, line breaks are not. */
const paragraphs = (text: string): readonly string[] =>
  text
    .split(/\n\s*\n/)
    .filter(part => part.trim() !== '')
    .flatMap(part => ['.Pp', ...filled(part)])

const usageOf = ({ path, arguments: given, commands }: CommandTree): readonly string[] => [
  '.Nm',
  ...(path.length === 0 ? [] : [`.Cm ${path.join(' ')}`]),
  ...(commands.length === 0 ? [] : ['.Op Ar command']),
  '.Op Ar options',
  ...given.map(each => `${each.isRequired ? '.Ar' : '.Op Ar'} ${argument(each.name)}`),
]

const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

const sectionOf = (tree: CommandTree): readonly string[] => [
  `.Ss ${tree.path.join(' ')}`,
  '.Bd -ragged -compact',
  ...usageOf(tree),
  '.Ed',
  '.Pp',
  ...filled(sentence(tree.description)),
  ...optionList(tree.options),
  ...paragraphs(tree.footer),
]

const MONTHS =
  'January February March April May June July August September October November December'.split(' ')

const dateOf = (wall: number): string => {
  const date = new Date(wall)
  return `${MONTHS[date.getUTCMonth()]!} ${date.getUTCDate()}, ${date.getUTCFullYear()}`
}

/** @param wall epoch ms of the page's date */
export const manPage = (
  tree: CommandTree,
  { version, wall }: { readonly version: string; readonly wall: number },
): string =>
  [
    `.\\" Made by "edge-health man" of version ${version}.`,
    `.Dd ${dateOf(wall)}`,
    '.Dt EDGE-HEALTH 1',
    '.Os',
    '.Sh NAME',
    '.Nm edge-health',
    '.Nd agents on edge Kubernetes nodes judge each other',
    '.Sh SYNOPSIS',
    '.Nm',
    '.Ar command',
    '.Op Ar options',
    '.Sh DESCRIPTION',
    ...filled(tree.description),
    ...optionList(tree.options),
    '.Sh COMMANDS',
    ...flatten(tree).slice(1).flatMap(sectionOf),
    '.Sh ENVIRONMENT',
    '.Bl -tag -width Ds',
    '.It Ev EDGE_HEALTH_AGENT , EDGE_HEALTH_WRAPPER',
    'Where commands look for the agent and the wrapper of this node.',
    '.It Ev EDGE_HEALTH_ Ns Ar OPTION',
    'An option of the program, in capitals with underscores.',
    '.It Ev KUBECONFIG',
    'A kubeconfig, for commands that read the cluster.',
    '.It Ev NO_COLOR',
    'No colours, if it is set to anything.',
    '.El',
    '.Sh EXIT STATUS',
    '.Bl -tag -width Ds',
    '.It 0',
    'Done, and nobody is dead.',
    '.It 1',
    'A node is dead, or the command failed.',
    '.It 2',
    'Bad usage.',
    '.It 3',
    'The program or cluster asked does not answer.',
    '.El',
    '.Pp',
    'Each command says more.',
    '',
  ].join('\n')
