import { Refusal } from '../refusal.ts'
import { SHAPE_VERSION } from '../../hosted/headers.ts'
import { OLDER_HANDLE_PARAMETER } from '../../hosted/shapes.ts'

/** The position of a subscriber: an instant and a number, repeated in its next request. */
export interface ShapeOffset {
  readonly at: number
  readonly number: number
}

/** The position before the first answer. */
export const UNSEEN: ShapeOffset = { at: 0, number: 0 }

/** A request of the shape protocol. */
export class ShapeRequest {
  /** Whether the request waits for a change instead of returning the current rows. */
  readonly isLive: boolean
  /** The position of the subscriber; `undefined` in its first request. */
  readonly offset: ShapeOffset | undefined
  readonly handle: string | undefined
  readonly skipColumns: ReadonlySet<string>
  /** Older clients look for different headers. */
  readonly isOld: boolean

  /** @throws Refusal 400 for an offset that cannot be read. */
  constructor(url: URL, headers: Headers) {
    const { searchParams } = url
    this.isLive = searchParams.get('live') === 'true'
    this.offset = readOffset(searchParams.get('offset'))
    this.handle = searchParams.get('handle') ?? searchParams.get(OLDER_HANDLE_PARAMETER) ?? undefined
    this.skipColumns = new Set((searchParams.get('skipColumns') ?? '').split(','))
    this.isOld = !headers.has(SHAPE_VERSION)
  }
}

function readOffset(text: string | null): ShapeOffset | undefined {
  if (text === null || text === '-1') return undefined
  const [, at, number] = /^(\d{1,15})_(\d{1,16})$/.exec(text) ?? []
  if (at !== undefined) return { at: Number(at), number: Number(number) }
  throw new Refusal(
    400,
    `Cannot read on from offset ${JSON.stringify(text)}: it is not an offset of this server`,
  )
}
