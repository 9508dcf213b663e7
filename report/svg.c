/* svg.c - common parts of the pages' charts. */
#include "report.h"

#include <stdarg.h>

void rep_svg_begin(FILE *out, const char *class, double width, double height, const char *label) {
    fprintf(out, "<svg%s%s%s viewBox=\"0 0 %.5g %.5g\" role=\"img\" aria-label=\"", class == NULL ? "" : " class=\"",
            class == NULL ? "" : class, class == NULL ? "" : "\"", width, height);
    rep_xml(out, label);
    fputs("\">\n", out);
}

void rep_svg_text(FILE *out, double x, double y, const char *anchor, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(out, "<text x=\"%.5g\" y=\"%.5g\" text-anchor=\"%s\">", x, y, anchor);
    rep_xml(out, text);
    fputs("</text>\n", out);
}
