import type { LoadedPage } from '../../api/cursor-page.ts'
import type { ApiAnswer } from '../connection/transport.ts'
import { WireRecord } from '../wire/record.ts'

/** Decodes the page of a list. */
export function decodePage<Item>({ body }: ApiAnswer, read: (wire: WireRecord) => Item): LoadedPage<Item> {
  const page = new WireRecord(body, 'a page')
  const pagination = page.record('pagination')
  return {
    data: page.records('data').map(read),
    next: pagination.text('next'),
    previous: pagination.text('previous'),
  }
}
