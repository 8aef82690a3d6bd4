/** The claims of every access token, also of those that the published client signs itself. */
export const PUBLIC_CLAIMS = { sub: 'waitpoint', pub: true } as const
export const ISSUER = 'https://id.trigger.dev'
export const AUDIENCE = 'https://api.trigger.dev'
