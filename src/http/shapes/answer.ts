import type { RunRow } from './run-row.ts'
import { type ShapeOffset, type ShapeRequest, UNSEEN } from './request.ts'

/** The content of one answer to a subscriber. */
export interface ShapeNews {
  /** The rows that changed since the subscriber last asked. */
  readonly rows: readonly RunRow[]
  /** The position of the subscriber after this answer. */
  readonly offset: ShapeOffset
  readonly handle: string
  /** The position of the subscriber is no longer kept. */
  readonly isGone?: boolean
}

/** The response of the shape protocol: rows, and a marker that the subscriber is up to date. */
export function shapeAnswer({ rows, offset, handle, isGone }: ShapeNews, request: ShapeRequest): Response {
  const isFirst = request.offset === undefined || request.offset.at === UNSEEN.at
  const operation = isFirst ? 'insert' : 'update'
  const messages: object[] = rows.map((row) => ({
    key: `"public"."TaskRun"/"${row.id}"`,
    value: row.columns(request.skipColumns),
    headers: { operation },
  }))
  if (isGone === true) messages.push({ headers: { control: 'must-refetch' } })
  messages.push({ headers: { control: 'up-to-date' } })
  const text = `${offset.at}_${offset.number}`
  return Response.json(messages, {
    headers: {
      'electric-offset': text,
      'electric-handle': handle,
      'electric-up-to-date': '',
      // Values are plain JSON, so the client must not parse them again.
      ...(request.isLive ? { 'electric-cursor': `${offset.number}` } : { 'electric-schema': '{}' }),
      ...(request.isOld ? { 'electric-chunk-last-offset': text, 'electric-shape-id': handle } : {}),
      'cache-control': 'no-store',
    },
  })
}
