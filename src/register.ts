export { registeredNames } from './cli/loading/registration.ts'
