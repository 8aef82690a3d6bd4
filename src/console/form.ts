import { checkAnnouncedLength, readBody } from '../http/requests/body.ts'
import type { Turns } from '../core/inside.ts'
import { mediaTypeOf } from '../http/requests/content-type.ts'
import { urlEncodedFields } from '../http/requests/form.ts'
import { areEqualSecrets } from '../http/access/equal-secrets.ts'
import { Refused } from './refused.ts'
import type { Session } from './session.ts'

/** A body of a form may be so large: the answer of a token, and how it is encoded. */
const MOST_BYTES = 3_145_728

/** The fields of a form that was sent, if it is from the console itself. `turns`: for one that may be large. */
export async function readForm(
  request: Request,
  { mostBytes = MOST_BYTES, turns }: { readonly mostBytes?: number; readonly turns?: Turns } = {},
): Promise<URLSearchParams> {
  requireSameSite(request)
  checkAnnouncedLength(request, mostBytes)
  const contentType = request.headers.get('content-type') ?? ''
  if (mediaTypeOf(contentType) !== 'application/x-www-form-urlencoded')
    throw new Refused(415, 'This is no form.')
  const body = await readBody(request, mostBytes)
  await turns?.next(body.length)
  const fields = urlEncodedFields(body, contentType)
  await turns?.next(body.length)
  return new URLSearchParams(fields.map((field): [string, string] => [...field]))
}

/** Refuses a form that another page than one of this browser's session has sent. */
export function requireFormToken(form: URLSearchParams, { formToken }: Session): void {
  if (areEqualSecrets(form.get('_token') ?? '', formToken)) return
  throw new Refused(
    403,
    'This form is not of your session.',
    'Go back, load the page again, and repeat what you did.',
  )
}

/** Browsers say which site a request is from. */
function requireSameSite({ headers }: Request): void {
  const site = headers.get('sec-fetch-site')
  if (site === null || site === 'same-origin') return
  throw new Refused(403, 'This form came from another site.')
}
