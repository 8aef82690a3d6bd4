import { type Profiler, Session } from 'node:inspector/promises'

/** What is counted: our code, not that of tests and packages. */
const OURS = /\/src\/[^?]+\.ts$/

/** The piece of our code that was executed most often. */
export interface Busiest {
  readonly times: number
  /** Its file, and where in that it begins. */
  readonly where: string
}

/**
 * Counts how often every piece of our code is executed: a machine-independent measure of work. Of what is loaded before it
 * starts only calls are counted, not the turns of loops.
 */
export class WorkCount {
  readonly #session: Session

  static async start(): Promise<WorkCount> {
    const session = new Session()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    return new WorkCount(session)
  }

  private constructor(session: Session) {
    this.#session = session
  }

  /** Of all that was executed since this was last asked for. */
  async busiest(): Promise<Busiest> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => OURS.test(url))
      .flatMap(piecesOf)
      .reduce((most, piece) => (piece.times > most.times ? piece : most), { times: 0, where: 'nowhere' })
  }

  stop(): void {
    this.#session.disconnect()
  }
}

function piecesOf({ url, functions }: Profiler.ScriptCoverage): Busiest[] {
  return functions.flatMap(({ functionName, ranges }) =>
    ranges.map(({ count, startOffset }) => ({
      times: count,
      where: `${functionName} of ${url} at ${startOffset}`,
    })),
  )
}
