import type { Token } from '../../../api/token.ts'
import type { RunsPlace } from '../../reach/place.ts'

/** A token without its address where that is not known: a storage does not know where its app is reached. */
export function shownToken<Shown extends Token>(
  token: Shown,
  { kind }: RunsPlace,
): Omit<Shown, 'url'> & { readonly url?: string } {
  const { url, ...rest } = token
  return kind === 'http' ? { ...rest, url } : rest
}
