import type { Turns } from '../core/inside.ts'

/** A body up to this length is sent as one text, with its length. */
const WHOLE = 524_288
const encoder = new TextEncoder()

/** The items of a page, each of which may be large: their texts are made and sent one after the other, with turns between. */
export interface PageItems<Item> {
  readonly data: readonly Item[]
  readonly pagination: object
  /** The text of one item. */
  readonly text: (item: Item) => string
}

/** The body of a page in JSON. */
export async function pageBody<Item>(
  { data, pagination, text }: PageItems<Item>,
  turns: Turns,
): Promise<string | ReadableStream<Uint8Array>> {
  const texts: string[] = []
  for (const item of data) {
    const made = text(item)
    texts.push(texts.length === 0 ? made : `,${made}`)
    await turns.next(made.length)
  }
  const all = ['{"data":[', ...texts, `],"pagination":${JSON.stringify(pagination)}}`]
  return all.reduce((sum, { length }) => sum + length, 0) <= WHOLE ? all.join('') : inPieces(all, turns)
}

function inPieces(texts: readonly string[], turns: Turns): ReadableStream<Uint8Array> {
  const left = texts.values()
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = left.next()
      if (done === true) {
        controller.close()
        return
      }
      await turns.next(value.length)
      controller.enqueue(encoder.encode(value))
    },
  })
}
