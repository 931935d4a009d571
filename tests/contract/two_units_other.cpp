#include "every_header.hpp"

gated::ErrorHandler* error_handler_of_the_other_unit();

gated::ErrorHandler* error_handler_of_the_other_unit() { return &gated::detail::error_handler(); }
