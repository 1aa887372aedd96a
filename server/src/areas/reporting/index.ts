export { reportingArea, reportingRoutes } from './routes.ts'
export { createReportingService } from './service.ts'
