// SPDX-License-Identifier: Apache-2.0
// What a person types and what they see, as a page of Markdown.
import { execFile } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'

/** What a program said on both streams, and how it ended. */
export interface Said {
  readonly code: number
  readonly text: string
}

/** As a page has it. */
const plain = (text: string): string => stripVTControlCharacters(text).trimEnd()

export class Transcript {
  readonly #parts: string[] = []
  readonly #env: Readonly<Record<string, string>>
  readonly #say: (line: string) => void

  /** @param env of the commands */
  constructor(env: Readonly<Record<string, string>>, say: (line: string) => void) {
    this.#env = env
    this.#say = say
  }

  /** The page so far. */
  get text(): string {
    return `${this.#parts.join('\n\n')}\n`
  }

  /** A heading or a paragraph. */
  write(text: string): void {
    this.#parts.push(text)
  }

  /** Run a line of a shell, and keep it with what it said. */
  async run(line: string): Promise<Said> {
    const said = await new Promise<Said>(resolve => {
      const child = execFile('sh', ['-c', `${line} 2>&1`], { env: this.#env }, (error, text) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
        resolve({ code, text: plain(text) })
      })
      child.stdin?.end()
    })
    this.show(line, said.text)
    return said
  }

  /** A line that was carried out elsewhere, and what it said. */
  show(line: string, text: string): void {
    const shown = text === '' ? '' : `\n${plain(text)}`
    this.#say(`$ ${line}${shown}`)
    this.#parts.push(`\`\`\`console\n$ ${line}${shown}\n\`\`\``)
  }
}
