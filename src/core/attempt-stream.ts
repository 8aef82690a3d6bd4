import type { SegmentEnd } from '../contract/records.ts'
import type { StreamChannel } from './streams/channel.ts'
import type { StreamPipe } from './streams/pipe.ts'

/** A stream of one attempt: its channel, and the sources that are read into it. */
export class AttemptStream {
  readonly channel: StreamChannel
  readonly #pipes = new Set<StreamPipe>()
  /** What came of the sources that have ended. */
  #end: SegmentEnd = { reason: 'done' }

  constructor(channel: StreamChannel) {
    this.channel = channel
  }

  /** The sources that are still being read. */
  get pipes(): readonly StreamPipe[] {
    return [...this.#pipes]
  }

  /** Starts reading one more source. */
  add(pipe: StreamPipe): void {
    this.#pipes.add(pipe)
    pipe.start()
  }

  /** One source has ended; with the last one the stream does, until there is more. */
  async pipeEnded(pipe: StreamPipe): Promise<void> {
    this.#pipes.delete(pipe)
    this.#end = worse(this.#end, pipe.segmentEnd)
    if (this.#pipes.size === 0) await this.channel.end(this.#end)
  }

  /** Stops what is still being read with `error`, and ends the stream for `reason` unless a source has a worse one. */
  async close(reason: 'done' | 'interrupted', error: unknown): Promise<void> {
    let end = worse(this.#end, { reason })
    for (const pipe of this.#pipes) {
      pipe.stop(error)
      end = worse(end, pipe.segmentEnd)
    }
    await this.channel.end(end)
  }
}

const BADNESS = { done: 0, interrupted: 1, failed: 2 }

/** A stream is no better than the worst of what was written to it. */
function worse(one: SegmentEnd, other: SegmentEnd): SegmentEnd {
  return BADNESS[other.reason] > BADNESS[one.reason] ? other : one
}
