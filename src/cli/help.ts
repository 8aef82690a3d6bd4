import type { CliCommand } from './command.ts'
import { COMMON, type OptionSpec } from './signature.ts'

const EXIT_CODES =
  '0 done · 1 failed · 2 wrong arguments · 3 not found · 4 storage or server not reachable · 130 Ctrl-C'

/** The help of the whole program. */
export function programHelp(commands: readonly CliCommand[], version: string): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    `waitpoint ${version}: runs, tokens and storages of waitpoint from the command line`,
    '',
    'Usage: waitpoint <command> [options]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'waitpoint <command> --help says more about a command.',
    `Exit codes: ${EXIT_CODES}`,
  ].join('\n')
}

/** The help of one command. */
export function commandHelp({ name, summary, words = [], options, about }: CliCommand): string {
  const usage = words.map((word) => (word.isOptional === true ? `[${word.name}]` : `<${word.name}>`))
  return [
    `waitpoint ${name}: ${summary}`,
    '',
    `Usage: ${['waitpoint', name, ...usage, '[options]'].join(' ')}`,
    ...(about === undefined ? [] : ['', about]),
    ...(words.length === 0 ? [] : ['', ...aligned(words.map((word) => [`<${word.name}>`, word.says]))]),
    '',
    ...aligned(
      [...Object.entries({ ...options, ...COMMON })].map(([option, spec]) => [
        flagOf(option, spec),
        spec.says,
      ]),
    ),
    '',
    `Exit codes: ${EXIT_CODES}`,
  ].join('\n')
}

function flagOf(name: string, { value, isRepeatable }: OptionSpec): string {
  return `--${name}${value === undefined ? '' : ` ${value}`}${isRepeatable === true ? ' …' : ''}`
}

function aligned(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
