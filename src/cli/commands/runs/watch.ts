import type { Run, SubscriptionPart } from '../../../api/run.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import { shownJson, oneLine, shortened, visible } from '../../output/text.ts'
import { instantText } from '../../output/time.ts'
import { valueText } from '../../output/run-facts.ts'
import type { Terminal } from '../../output/terminal.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId, RUN_WORD } from '../../words.ts'

type Part = SubscriptionPart<Readonly<Record<string, unknown>>>

/** `waitpoint runs watch`. */
export const watchRun: CliCommand = {
  name: 'runs watch',
  summary: 'follow a run and its streams until it has ended',
  words: [RUN_WORD],
  options: {
    ...PLACE_OPTIONS,
    'no-streams': { says: 'show the run only, and not the chunks of its streams' },
  },
  about: 'The exit code is 1 when the run did not complete. With --json each line is one object.',
  async run(given, terminal) {
    const id = requireId(given.word('run'), 'run')
    const place = readPlace(given, terminal.env)
    const show = given.has('json') ? jsonLines(terminal) : lines(terminal)
    return reaching(place, terminal, async ({ runs }) => {
      const subscription = runs.subscribeToRun(id)
      const parts = given.has('no-streams') ? runParts(subscription) : subscription.withStreams()
      return follow(parts, show, terminal.signal)
    })
  },
}

async function* runParts(subscription: AsyncIterable<Run>): AsyncGenerator<Part> {
  for await (const run of subscription) yield { type: 'run', run }
}

/** Shows every part until the last one, or until the signal: a part that is awaited may never come. */
async function follow(
  parts: AsyncIterable<Part>,
  show: (part: Part) => void,
  signal: AbortSignal,
): Promise<ExitCode> {
  const iterator = parts[Symbol.asyncIterator]()
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  let last: Run | undefined
  for (;;) {
    const next = iterator.next()
    // Left behind when the signal comes first.
    next.catch(() => undefined)
    const result = await Promise.race([next, stopped])
    if (result === undefined) return EXIT.interrupted
    if (result.done === true) break
    last = result.value.run
    show(result.value)
  }
  return last?.isSuccess === true ? EXIT.ok : EXIT.failed
}

function jsonLines(terminal: Terminal): (part: Part) => void {
  return (part) => {
    const { type, run, ...chunk } = part
    terminal.print(shownJson(part.type === 'run' ? { type, run } : { type, ...chunk }))
  }
}

/** A line for each change of the status, and one for each chunk. */
function lines(terminal: Terminal): (part: Part) => void {
  let shown = ''
  const time = (): string => instantText(terminal.clock.now()).slice(11, 19)
  return (part) => {
    const { run } = part
    if (part.type !== 'run') {
      const text = typeof part.chunk === 'string' ? part.chunk : shownJson(part.chunk)
      terminal.print(
        `${time()}  ${oneLine(part.type)}[${part.sequence ?? ''}]  ${shortened(oneLine(text), 2_000)}`,
      )
      return
    }
    const state = `${run.status}${run.attemptCount > 1 ? `, attempt ${run.attemptCount}` : ''}`
    if (state === shown) return
    shown = state
    terminal.print(`${time()}  ${state}${endOf(run)}`)
  }
}

function endOf(run: Run): string {
  if (run.isSuccess) return `  ${valueText(run.output)}`
  return run.error === undefined ? '' : `  ${visible(run.error.name)}: ${oneLine(run.error.message)}`
}
