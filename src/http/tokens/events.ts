import type { RetrievedToken } from '../../api/token.ts'
import { frameOf } from '../events/sse-frame.ts'
import { retrievedTokenJson, type TokenReader } from './json.ts'

/** The states of a token as events `token`; the last one is settled. */
export async function* tokenEvents(
  tokens: AsyncIterable<RetrievedToken<unknown>>,
  reader: TokenReader,
): AsyncGenerator<string> {
  for await (const token of tokens)
    yield frameOf({ event: 'token', data: JSON.stringify(retrievedTokenJson(token, reader)) })
}
