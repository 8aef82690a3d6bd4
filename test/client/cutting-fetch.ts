/** Sends requests on, and breaks off the answers: each after as many bytes as the plan says, until the plan is over. */
export class CuttingFetch {
  /** Answers that were broken off. */
  cuts = 0
  /** What was asked for, in order. */
  readonly asked: string[] = []
  /** The positions that event streams were asked to go on from, in order. */
  readonly ids: string[] = []
  readonly #send: (request: Request) => Promise<Response>
  readonly #plan: number[]

  constructor(send: (request: Request) => Promise<Response>, plan: readonly number[]) {
    this.#send = send
    this.#plan = [...plan]
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    this.asked.push(`${request.method} ${new URL(request.url).pathname}`)
    const response = await this.#send(request)
    const isLive = /\/realtime\/|\/stream\b/.test(request.url)
    if (isLive) this.ids.push(request.headers.get('last-event-id') ?? '')
    const left = isLive ? this.#plan.shift() : undefined
    if (left === undefined || response.body === null) return response
    return new Response(this.#cut(response.body.getReader(), left), response)
  }

  #cut(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>, limit: number): ReadableStream {
    let left = limit
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        if (value.length <= left) {
          left -= value.length
          return controller.enqueue(value)
        }
        controller.enqueue(value.subarray(0, left))
        this.cuts += 1
        await reader.cancel()
        controller.error(new TypeError('terminated'))
      },
      cancel: () => reader.cancel(),
    })
  }
}
