/** One option of a command, without its dashes. */
export interface OptionSpec {
  /** What stands for its value in the help: `<file>`. None: the option is a flag. */
  readonly value?: string
  readonly isRepeatable?: boolean
  readonly says: string
}

/** A word of a command that is no option. */
export interface WordSpec {
  readonly name: string
  readonly isOptional?: boolean
  readonly says: string
}

/** What a command may be given. */
export interface Signature {
  readonly words?: readonly WordSpec[]
  readonly options: Readonly<Record<string, OptionSpec>>
}

/** Options that every command has. */
export const COMMON: Readonly<Record<string, OptionSpec>> = {
  json: { says: 'print JSON, for programs' },
  help: { says: 'say what the command does, and end' },
}
