import { mapPackages } from './hooks.ts'
import { EMPTY_NAMES, hostedNames, type PackageNames } from './names.ts'

/**
 * The names that `node --import waitpoint/register app.js` has mapped for its process: those of the hosted service's
 * module. See docs/console-and-cli.md.
 */
export const registeredNames: PackageNames = hostedNames()

mapPackages({ ...EMPTY_NAMES, ...registeredNames })
