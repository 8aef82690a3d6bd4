import type { AnsweredBy } from '../../../api/question.ts'
import type { CompletedToken, Token } from '../../../api/token.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import type { Given } from '../../given.ts'
import type { Terminal } from '../../output/terminal.ts'
import type { RunsPlace } from '../../reach/place.ts'

/** A token without its address where that is not known: a storage does not know where its app is reached. */
export function shownToken<Shown extends Token>(
  token: Shown,
  { kind }: RunsPlace,
): Omit<Shown, 'url'> & { readonly url?: string } {
  const { url, ...rest } = token
  return kind === 'http' ? { ...rest, url } : rest
}

interface Completed {
  readonly id: string
  /** What has become of the token, if this call did it. */
  readonly done: string
  readonly completed: CompletedToken
}

/** Tells what became of a token, and answers the exit code. */
export function tellCompleted(
  given: Given,
  terminal: Terminal,
  { id, done, completed }: Completed,
): ExitCode {
  const { success, status, by } = completed
  if (given.has('json')) terminal.printJson({ id, ...completed })
  else if (success) terminal.print(`Token ${id} ${done}.`)
  else terminal.note(`Token ${id} was settled before: it is ${status}${signature(by)}.`)
  return success ? EXIT.ok : EXIT.failed
}

/** Who settled it, as far as it is known. */
function signature(by: AnsweredBy | undefined): string {
  if (by === undefined) return ''
  const { id, name = id, via } = by
  return name === undefined ? `, via ${via}` : `, by ${name} via ${via}`
}
