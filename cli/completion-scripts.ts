// SPDX-License-Identifier: Apache-2.0
// Completion scripts for three shells, made from the command line's own tree. None runs the program.
import { flatten, type CommandTree, type OptionLeaf } from './command-tree.js'

export type Shell = 'bash' | 'zsh' | 'fish'

const BY = (shell: Shell): string =>
  `made by "edge-health completion ${shell}" from the options of this version`

/** A command's path as the scripts compare it: a space before each name. */
const at = ({ path }: CommandTree): string => path.map(name => ` ${name}`).join('')

const namesOf = ({ short, long }: OptionLeaf): readonly string[] =>
  short === undefined ? [long] : [long, short]

/** Options that take the next word. */
const withValue = (tree: CommandTree): readonly OptionLeaf[] =>
  tree.options.filter(({ value, isValueOptional }) => value !== undefined && !isValueOptional)

const isFile = ({ value, choices }: OptionLeaf): boolean =>
  choices.length === 0 && (value === 'path' || value === 'file')

/** `'…'` for the POSIX shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const MOST_WORDS = 72

const short = (text: string): string => {
  const [first = ''] = text.split('\n')
  return first.length <= MOST_WORDS ? first : `${first.slice(0, MOST_WORDS - 1)}…`
}

/** Every command with each of its options: `patterns` are such as `' agent --config'`, spelled for a shell's `case`. */
const placesOf = (
  all: readonly CommandTree[],
  pick: (tree: CommandTree) => readonly OptionLeaf[],
): readonly string[] =>
  all.flatMap(tree =>
    pick(tree).flatMap(option => namesOf(option).map(name => `${at(tree)} ${name}`)),
  )

interface Places {
  readonly all: readonly CommandTree[]
  readonly commands: readonly string[]
  readonly takers: readonly string[]
  readonly files: readonly string[]
  readonly chosen: readonly { readonly place: string; readonly choices: readonly string[] }[]
}

const placesIn = (tree: CommandTree): Places => {
  const all = flatten(tree)
  const chosen = all.flatMap(each =>
    each.options
      .filter(({ choices }) => choices.length > 0)
      .flatMap(option =>
        namesOf(option).map(name => ({
          place: `${at(each)} ${name}`,
          choices: option.choices,
        })),
      ),
  )
  return {
    all,
    commands: all.filter(({ path }) => path.length > 0).map(at),
    takers: placesOf(all, withValue),
    files: placesOf(all, each => withValue(each).filter(isFile)),
    chosen,
  }
}

const alternatives = (patterns: readonly string[]): string => patterns.map(quoted).join(' | ')

const argumentChoices = (tree: CommandTree): readonly string[] =>
  tree.arguments.flatMap(({ choices }) => choices)

const bash = (tree: CommandTree): string => {
  const { all, commands, takers, files, chosen } = placesIn(tree)
  const words = all.map(each => {
    const names = [...each.commands.map(({ path }) => path.at(-1)!), ...argumentChoices(each)]
    const options = each.options.map(({ long }) => long)
    return `    ${quoted(at(each))}) names=${quoted(names.join(' '))} options=${quoted(options.join(' '))} ;;`
  })
  return `# bash completion for edge-health, ${BY('bash')}
_edge_health() {
  local cur=\${COMP_WORDS[COMP_CWORD]} before at='' i names='' options='' IFS=$' \\t\\n'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
    ${alternatives(commands)}) at="$at \${COMP_WORDS[i]}" ;;
    ${alternatives(takers)}) if [[ \${COMP_WORDS[i + 1]} == '=' ]]; then ((i += 2)); else ((i++)); fi ;;
    esac
  done
  before=\${COMP_WORDS[COMP_CWORD - 1]}
  # --option=value comes as three words.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $before == '=' ]]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$at $before" in
${chosen.map(({ place, choices }) => `    ${quoted(place)}) COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$cur")); return ;;`).join('\n')}
    ${alternatives(files)}) compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${alternatives(takers)}) return ;;
  esac
  case "$at" in
${words.join('\n')}
  esac
  if [[ $cur == -* ]]; then names=$options; fi
  COMPREPLY=($(compgen -W "$names" -- "$cur"))
}
complete -F _edge_health edge-health
`
}

/** `name:description`, as `_describe` splits it. */
const described = (name: string, description: string): string =>
  quoted(`${name.replaceAll(':', '\\:')}:${short(description)}`)

const zsh = (tree: CommandTree): string => {
  const { all, commands, takers, files, chosen } = placesIn(tree)
  const words = all.map(each => {
    const names = [
      ...each.commands.map(({ path, description }) => described(path.at(-1)!, description)),
      ...argumentChoices(each).map(choice => described(choice, '')),
    ]
    const options = each.options.map(({ long, description }) => described(long, description))
    return `    (${quoted(at(each))})\n      names=(${names.join(' ')})\n      options=(${options.join('\n        ')})\n      ;;`
  })
  return `#compdef edge-health
# zsh completion for edge-health, ${BY('zsh')}
_edge_health() {
  local at='' before i
  local -a names options
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
    (${alternatives(commands)}) at="$at \${words[i]}" ;;
    (${alternatives(takers)}) ((i++)) ;;
    esac
  done
  before=\${words[CURRENT-1]}
  if [[ \${words[CURRENT]} == --*=* ]]; then
    before=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  case "$at $before" in
${chosen.map(({ place, choices }) => `    (${quoted(place)}) compadd -- ${choices.map(quoted).join(' ')}; return ;;`).join('\n')}
    (${alternatives(files)}) _files; return ;;
    (${alternatives(takers)}) _message value; return ;;
  esac
  case "$at" in
${words.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe -o option options
  else
    _describe command names
  fi
}
if [[ $funcstack[1] == _edge_health ]]; then
  _edge_health "$@"
else
  compdef _edge_health edge-health
fi
`
}

/** `'…'` for fish, which knows two escapes. */
const fishQuoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const fishOption = (where: string, option: OptionLeaf): string => {
  const { short: letter, long, choices, description, value, isValueOptional } = option
  const names = `${letter === undefined ? '' : `-s ${letter.slice(1)} `}-l ${long.slice(2)}`
  const file = isFile(option) ? ' -r -F' : ' -x'
  const takes = value === undefined || isValueOptional ? '' : file
  const list = choices.length === 0 ? '' : ` -a ${fishQuoted(choices.join(' '))}`
  return `complete -c edge-health -n ${where} ${names}${takes}${list} -d ${fishQuoted(short(description))}`
}

const fish = (tree: CommandTree): string => {
  const { all, commands, takers } = placesIn(tree)
  const lines = all.flatMap(each => {
    const where = fishQuoted(`__edge_health_at ${fishQuoted(at(each))}`)
    const names = each.commands.map(
      ({ path, description }) =>
        `complete -c edge-health -n ${where} -a ${path.at(-1)!} -d ${fishQuoted(short(description))}`,
    )
    const choices = argumentChoices(each)
    const list =
      choices.length === 0
        ? []
        : [`complete -c edge-health -n ${where} -a ${fishQuoted(choices.join(' '))}`]
    return [...names, ...list, ...each.options.map(option => fishOption(where, option))]
  })
  return `# fish completion for edge-health, ${BY('fish')}
function __edge_health_at
    set -l at ''
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$at $word"
            case ${commands.map(fishQuoted).join(' ')}
                set at "$at $word"
            case ${takers.map(fishQuoted).join(' ')}
                set skip 1
        end
    end
    test "$at" = "$argv[1]"
end
complete -c edge-health -f
${lines.join('\n')}
`
}

const SCRIPTS: Readonly<Record<Shell, (tree: CommandTree) => string>> = { bash, zsh, fish }

/** The script that a shell sources. */
export const completionScript = (shell: Shell, tree: CommandTree): string => SCRIPTS[shell](tree)
