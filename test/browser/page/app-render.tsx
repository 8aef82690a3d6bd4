import { StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { App, type Given } from './app.tsx'

/** The components in a text, as a server answers them. It must ask for nothing. */
export function render(given: Given): string {
  const refuse = (): never => {
    throw new Error('Cannot ask for an access token while rendering')
  }
  return renderToString(
    <StrictMode>
      <App {...given} accessToken={refuse} />
    </StrictMode>,
  )
}
