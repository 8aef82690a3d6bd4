import { Refusal } from '../refusal.ts'

/** How far a subscriber is: an instant and a number, which it says again when it asks for more. */
export interface ShapeOffset {
  readonly at: number
  readonly number: number
}

/** Where nobody has seen anything. */
export const UNSEEN: ShapeOffset = { at: 0, number: 0 }

/** What a subscriber by the shape protocol asks for. */
export class ShapeRequest {
  /** Whether it wants to wait for a change; if not, for what there is. */
  readonly isLive: boolean
  /** What it has seen; nothing with the first request. */
  readonly offset: ShapeOffset | undefined
  readonly handle: string | undefined
  readonly skipColumns: ReadonlySet<string>
  /** Clients of old look for other headers. */
  readonly isOld: boolean

  /** @throws Refusal 400 for an offset that is none. */
  constructor(url: URL, headers: Headers) {
    const { searchParams } = url
    this.isLive = searchParams.get('live') === 'true'
    this.offset = readOffset(searchParams.get('offset'))
    this.handle = searchParams.get('handle') ?? searchParams.get('shape_id') ?? undefined
    this.skipColumns = new Set((searchParams.get('skipColumns') ?? '').split(','))
    this.isOld = !headers.has('x-trigger-electric-version')
  }
}

function readOffset(text: string | null): ShapeOffset | undefined {
  if (text === null || text === '-1') return undefined
  const [, at, number] = /^(\d{1,15})_(\d{1,16})$/.exec(text) ?? []
  if (at !== undefined) return { at: Number(at), number: Number(number) }
  throw new Refusal(400, `Cannot read on from offset ${JSON.stringify(text)}: it is none of ours`)
}
