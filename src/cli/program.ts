import { messageOf } from '../primitives/message.ts'
import type { CliCommand } from './command.ts'
import { EXIT, type ExitCode, exitCodeOf, UsageError } from './exit.ts'
import { Given, nearest, quote } from './given.ts'
import { commandHelp, programHelp } from './help.ts'
import { oneLine, visible } from './output/text.ts'
import type { Terminal } from './output/terminal.ts'

/** A command, and the arguments behind its name. */
interface Called {
  readonly command: CliCommand
  readonly args: readonly string[]
}

/** The program: it finds the command, and says in one line what went wrong. */
export class Program {
  readonly #commands: readonly CliCommand[]
  readonly #version: string

  constructor(commands: readonly CliCommand[], version: string) {
    this.#commands = commands
    this.#version = version
  }

  /** Does what the arguments say, and answers the exit code. It never rejects. */
  async run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
    let name = ''
    try {
      if (args[0] === '--version' || args[0] === '-v') {
        terminal.print(this.#version)
        return EXIT.ok
      }
      if (isHelp(args[0])) {
        terminal.print(programHelp(this.#group(''), this.#version))
        return EXIT.ok
      }
      const called = this.#find(args)
      if (called === undefined) {
        terminal.print(programHelp(this.#group(args[0] ?? ''), this.#version))
        return args.length < 2 ? EXIT.usage : EXIT.ok
      }
      name = called.command.name
      return await this.#call(called, terminal)
    } catch (thrown) {
      if (terminal.signal.aborted) return EXIT.interrupted
      terminal.note(failureText(thrown, name))
      return exitCodeOf(thrown)
    }
  }

  async #call({ command, args }: Called, terminal: Terminal): Promise<ExitCode> {
    const given = new Given(args, command)
    if (!given.has('help')) return command.run(given, terminal)
    terminal.print(commandHelp(command))
    return EXIT.ok
  }

  /** The command of the first words; none for a group of commands that is asked what it has. */
  #find(args: readonly string[]): Called | undefined {
    const [first = '', second = ''] = args
    for (const [words, count] of [
      [`${first} ${second}`, 2],
      [first, 1],
    ] as const) {
      const command = this.#commands.find(({ name }) => name === words)
      if (command !== undefined) return { command, args: args.slice(count) }
    }
    const group = this.#group(first)
    if (first === '' || (group.length > 0 && (second === '' || isHelp(second)))) return undefined
    const isGroup = group.length > 0
    const word = isGroup ? `${first} ${second}` : first
    const names = isGroup
      ? group.map(({ name }) => name)
      : this.#group('').flatMap(({ name }) => [name, name.split(' ')[0] ?? ''])
    const near = nearest(word, names)
    throw new UsageError(
      `there is no command ${quote(word)}${near === undefined ? '' : `: did you mean "${near}"?`}`,
    )
  }

  #group(word: string): readonly CliCommand[] {
    const shown = this.#commands.filter(({ isHidden }) => isHidden !== true)
    return word === '' ? shown : shown.filter(({ name }) => name.startsWith(`${word} `))
  }
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h' || word === 'help'
}

function failureText(thrown: unknown, name: string): string {
  const command = `waitpoint${name === '' ? '' : ` ${name}`}`
  if (thrown instanceof UsageError) return `${command}: ${oneLine(thrown.message)} (see ${command} --help)`
  return `${command}: ${visible(messageOf(thrown))}`
}
